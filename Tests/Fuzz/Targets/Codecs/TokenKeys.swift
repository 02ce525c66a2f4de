/// Private keys that sign what the token target is fed; made for it and used nowhere else.
enum TokenKeys {
  static let rsa = """
    -----BEGIN PRIVATE KEY-----
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCl7oHqy9eokxTN
    KsqNoFCer8Qd2KxmurKdCmODWl5iZGvLmU+QC4FUKZsYGnAfsrxOo5af5lMS3/rt
    zsmDoV3HhXCNJeNQaC30f4JXs/ffiE6jDj2orKEMgZwtC/KLMi0QeeRG5/r0wOls
    3+8bQhiJur2pyWVKoJ1xMDSrfVM2Jo5szlSlypBilWFpjWapwrTQH0TdLhHVxrdf
    TQUYmMQ7KfGJRlPU7cCArcaCJw3+V7CcHeE89EZJ2fwQGbBEvkII9iV8AOjq4vxN
    uK1yn3yqF829dnAN0jTiagR9k4sAbMP5oQXKboxdoOlpOVSVqfQEWrvXbB3v2xuX
    vaSuW7ePAgMBAAECggEACF7RuvBxfpV81SS1dxOBPaAMOp01hTEh1X4yquuiG0CJ
    l4myU8fgzEgVBNBAm7i+exERhhtuUWNvGxP1Ymh/fJMkrFoe721x9AWCo732YRZV
    MTCEt7+NmD3pjPQvVgo/77bWZyVIqZQZsl5Rh4R8DGaZLrl0HKGhj5Yo8gWuburK
    MEojS3jkmoNF9JqZm4ywRXOIBhXqew/SpwQeXh5yLGkGsoVcW42S8WxWdSklcAZ/
    KMnJWQFArIi6og8DqFlrm5RkxucVBf9M3htveGn9wxb86A6qCkwFjksCG4i1ycFJ
    Olzmdksh79uiYTrtNivpOVd5DtqTWkaNFL/XM5djMQKBgQDXLv0od6/Ib+tRlYhO
    AHnt+8FFREI4Dg/Q0L3dQNbu6dbNGOxI63nuLTXlfcT4JN5DoCC4Sk3QZRVvR6KW
    a87Gknf1BSHhutIAKcTcLdGF2eE2vjJSEQhbydxvtU7nSA7XbZ2ZY4pCF39CFYqJ
    gJ0NjzZlmzUE8WLlmqzvCBr1qwKBgQDFZ+qaekk8dMO75fEaCyOfLAnx1/VBAK7e
    l/JR8vOGHOLGn218+vVBIr1sv6bNH/H6R/Tw+oCK0UzmZEqs3kW/hzgBcDkDYyX6
    8oaDEjQqJX0OUiedD62EqtyIqRNxgZ1YNW5f633nPEDDmeR/uvvpTZic/EhFr35M
    9qTshHIZrQKBgExpOyxrk9gxJfbKiqRoNuPzSiY2nu0Y0TTtav5uT+R21Pfvqbgb
    JikVlNXxW0hijyqkafoHKKqfuoTRg0K29a49xKsVL3rgxEGak3U8L/K/8+FkmKnb
    soQloklosKQgSmTlX9lgJ3Bgt6fXzmIVca+m80IRYzpmHSA7VL1su2YRAoGAcVfq
    JwpBlJnCbNdo6LgumszRZO/HXKxEu3/o3U6urnlVaA/P8KuzN9P3iUI9Rpep+zdn
    lxltxsbH7Zz2F22EBKVh7cl+oshB3WV1ADrqgqyFsjxPjGmdCoiEGV9iz5BJRIVh
    O2feIW/CC80HmqNE0r7/+lsMMB7EWPJg3YBqdv0CgYEAy8A9ln79zSp3Se/w3QPt
    Im1VOVJmuGtyjz5VuxuykmgBkROlAMS6EqQRtSWII5P6QRr1RSV/iyO0K1IvT4CW
    yBU5G+lCMRGG9Xm4wUYTxxDPQMyp1yc310Dbf/rB9g22/xjkdyAzUrptStXMfeND
    t5fZ9PsNhxxEJltLznNIorE=
    -----END PRIVATE KEY-----
    """

  static let p256 = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgE0qRQAq+lldrP35r
    n6yyShWmHTGNRcMlhsw3YXzKl0WhRANCAAS1LZ8zGpKmFsb5Nz7kS+70WXf2M8ir
    iSQyUFeTAfbtiHPjNZXr/FbR1sgMt2aeX/D/fTXHyMXDVmwK1zSYJTZS
    -----END PRIVATE KEY-----
    """
}
