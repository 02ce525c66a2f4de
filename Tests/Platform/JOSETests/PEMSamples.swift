import Testing

/// Private keys as openssl writes them, made for these tests and used nowhere else.
enum PEMSamples {
  /// A text and the algorithm it yields, or the reason of its refusal.
  struct Sample: Sendable, CustomTestStringConvertible {
    let name: String
    let verdict: String
    let pem: String

    var testDescription: String { "\(name): \(verdict)" }
  }

  static let readable: [Sample] = [
    Sample(
      name: "RSA, PKCS#8", verdict: "RS256",
      pem: """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQD11xLDFXS5Ymvs
        RKQJBbizfb8lPXEj0Hucf+8g1lpBmKXoXpQGFTSxgvLKCPpWMXlSKO57lpGT0jGM
        MYfaH2s+NMWbZswfnfPaH6LzXScJBu/LkGXtPvQ9xME5Rl5kkdAW9HyKLwIc2t7/
        uyjgx96yVdz3U0/dPbTUkSPVgZms/Z1P6VcRgV90+r0dAKVUiRm2ReDrUDCvdJZ0
        5c7veoDjArlDNI8D70BlFuQvkSCJtABLBikn8v8IPrHtrnKsv91l5/MzckqBFyIY
        1yqmyPxnNGne2oJUS/KkYVRh600r6kCcpe5NmwxipnfOKfAjItZDoSaaoktHRiXr
        RcqLYh/3AgMBAAECggEAEmgvHHI/0h2fbQpaqd5GzRGuPTCThxX2G2qs0e2axmyS
        h4qFVMtDrcLbQOtZKxj7N36fFJvafJHxacjPnjJaCkdTQGZ7BCcEeiGCRuyDnrZp
        P/mo2BGtoe5YdVxidu9AAGf/5yzL4LM2nTk7P1FXyEyLhe0z/qG/J2dSoorYoc4Z
        5kmsbWXubMz3HdZIRaTJr79WsqJMtl6ib2qn0idP1dUCtxlRXkSS9mW1693uiZG0
        I5b8nCo00oaeQeBl/4PGZgfQ+ju7Gev8vvacAzxDvbXJjHHkhriifbSpz5IlHrFu
        Ai5jXViHPxFfpY00N+LFRq4whv2VKYf7RFK1PuGssQKBgQD930HGFQV+RyV8rh83
        pNqWlhnTBb/6BuzFfOcTLP/gqwwBL+Y3zDONiuDt8ryQHs1XdQrQ4x8Z4CqUQlkl
        xqtDbDUItLeWYvuZHbPSrKRMez6MI9aCkDGO/cIkK8Eym78mOpYivHkXZVLk43G3
        H28OuJOYGDCXfBW5owTR6XxYOQKBgQD35pT01iwRc1sSsKWH++ZD3gTMh1gCCSHH
        /iV7zwuOQ7XKYaoIJiegisW6DhflHbp8hyVU3rAOBRn4ZNEbch4Z2ug703gd4pOY
        r9ZyH2DknXf3LXRSygrHfLiRf0Ho2m4oVTUEL4cIQvEJ+TsT+ARFF/41LzoHUAHl
        xWls/mZZrwKBgGaIlgMPmHFhAMXzeU46+cHaC8ILz3aG93fns1guU4YE70tHcj7U
        7XlcPu47nGbE2gBZmC23nWcQ/4FzrpewPplziZPjkUZe4ej8cxVCfvUYzbFCBDAl
        Vq6+1HtRZK0w9CnXfa2321xUov8o0VO5kVwrtgi2tGFqT0fzjE3PdFYZAoGAGwm/
        PWUOsWiPil5R75794nEYvOYWJ0KvuIxzsilG7WFdNpGoZfMjZ1M7dauL16WCbYqf
        +72+HglYZ8s3M3Mi7Vb+9Wd/NmM8De8/yHq7qrOyHfeLNGxs+I0V5Gio26jXUvbY
        LXixlakXeSsB0o++h3qyc0KPZbTIQDNj6EtnBmkCgYBhacfxwOAWscT6eFX4fxCD
        XvuwK3pSERbIl45BxmGgDqSXvCOsvSgCoa+VL5gROvLNafSxRgv2cpZ4EhKUOZHT
        fxGycg+yrjATIkFuKXkvh72wGYx9QIQTKa6q2YdkuoVDXn0jb0sjUA+bEIRc66h7
        nQcyOXPvOWYZI5baViHjhQ==
        -----END PRIVATE KEY-----
        """),
    Sample(
      name: "RSA, PKCS#1", verdict: "RS256",
      pem: """
        -----BEGIN RSA PRIVATE KEY-----
        MIIEogIBAAKCAQEA9dcSwxV0uWJr7ESkCQW4s32/JT1xI9B7nH/vINZaQZil6F6U
        BhU0sYLyygj6VjF5Uijue5aRk9IxjDGH2h9rPjTFm2bMH53z2h+i810nCQbvy5Bl
        7T70PcTBOUZeZJHQFvR8ii8CHNre/7so4MfeslXc91NP3T201JEj1YGZrP2dT+lX
        EYFfdPq9HQClVIkZtkXg61Awr3SWdOXO73qA4wK5QzSPA+9AZRbkL5EgibQASwYp
        J/L/CD6x7a5yrL/dZefzM3JKgRciGNcqpsj8ZzRp3tqCVEvypGFUYetNK+pAnKXu
        TZsMYqZ3zinwIyLWQ6EmmqJLR0Yl60XKi2If9wIDAQABAoIBABJoLxxyP9Idn20K
        WqneRs0Rrj0wk4cV9htqrNHtmsZskoeKhVTLQ63C20DrWSsY+zd+nxSb2nyR8WnI
        z54yWgpHU0BmewQnBHohgkbsg562aT/5qNgRraHuWHVcYnbvQABn/+csy+CzNp05
        Oz9RV8hMi4XtM/6hvydnUqKK2KHOGeZJrG1l7mzM9x3WSEWkya+/VrKiTLZeom9q
        p9InT9XVArcZUV5EkvZltevd7omRtCOW/JwqNNKGnkHgZf+DxmYH0Po7uxnr/L72
        nAM8Q721yYxx5Ia4on20qc+SJR6xbgIuY11Yhz8RX6WNNDfixUauMIb9lSmH+0RS
        tT7hrLECgYEA/d9BxhUFfkclfK4fN6TalpYZ0wW/+gbsxXznEyz/4KsMAS/mN8wz
        jYrg7fK8kB7NV3UK0OMfGeAqlEJZJcarQ2w1CLS3lmL7mR2z0qykTHs+jCPWgpAx
        jv3CJCvBMpu/JjqWIrx5F2VS5ONxtx9vDriTmBgwl3wVuaME0el8WDkCgYEA9+aU
        9NYsEXNbErClh/vmQ94EzIdYAgkhx/4le88LjkO1ymGqCCYnoIrFug4X5R26fIcl
        VN6wDgUZ+GTRG3IeGdroO9N4HeKTmK/Wch9g5J139y10UsoKx3y4kX9B6NpuKFU1
        BC+HCELxCfk7E/gERRf+NS86B1AB5cVpbP5mWa8CgYBmiJYDD5hxYQDF83lOOvnB
        2gvCC892hvd357NYLlOGBO9LR3I+1O15XD7uO5xmxNoAWZgtt51nEP+Bc66XsD6Z
        c4mT45FGXuHo/HMVQn71GM2xQgQwJVauvtR7UWStMPQp132tt9tcVKL/KNFTuZFc
        K7YItrRhak9H84xNz3RWGQKBgBsJvz1lDrFoj4peUe+e/eJxGLzmFidCr7iMc7Ip
        Ru1hXTaRqGXzI2dTO3Wri9elgm2Kn/u9vh4JWGfLNzNzIu1W/vVnfzZjPA3vP8h6
        u6qzsh33izRsbPiNFeRoqNuo11L22C14sZWpF3krAdKPvod6snNCj2W0yEAzY+hL
        ZwZpAoGAYWnH8cDgFrHE+nhV+H8Qg177sCt6UhEWyJeOQcZhoA6kl7wjrL0oAqGv
        lS+YETryzWn0sUYL9nKWeBISlDmR038RsnIPsq4wEyJBbil5L4e9sBmMfUCEEymu
        qtmHZLqFQ159I29LI1APmxCEXOuoe50HMjlz7zlmGSOW2lYh44U=
        -----END RSA PRIVATE KEY-----
        """),
    Sample(
      name: "P-256, PKCS#8", verdict: "ES256",
      pem: """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgY65igbCdr4PY4Ti0
        tgOdtceZ1w+AL20xxWWi0KcmW2GhRANCAATbl0PU3lC/mbJGuXs6DCtHbxh7jkCp
        rxQ9jVB/gvluKHuJ3EtQcTvP9acxmB9SOpJePqAgT0i5DWrkLTyWKVI7
        -----END PRIVATE KEY-----
        """),
    Sample(
      name: "P-256, SEC 1 behind its parameters", verdict: "ES256",
      pem: """
        -----BEGIN EC PARAMETERS-----
        BggqhkjOPQMBBw==
        -----END EC PARAMETERS-----
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIGOuYoGwna+D2OE4tLYDnbXHmdcPgC9tMcVlotCnJlthoAoGCCqGSM49
        AwEHoUQDQgAE25dD1N5Qv5myRrl7OgwrR28Ye45Aqa8UPY1Qf4L5bih7idxLUHE7
        z/WnMZgfUjqSXj6gIE9IuQ1q5C08lilSOw==
        -----END EC PRIVATE KEY-----
        """),
  ]

  static let unreadable: [Sample] = [
    Sample(
      name: "nothing", verdict: "pem_invalid",
      pem: ""),
    Sample(
      name: "no PEM", verdict: "pem_invalid",
      pem: "secret"),
    Sample(
      name: "a public key", verdict: "pem_invalid",
      pem: """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE25dD1N5Qv5myRrl7OgwrR28Ye45A
        qa8UPY1Qf4L5bih7idxLUHE7z/WnMZgfUjqSXj6gIE9IuQ1q5C08lilSOw==
        -----END PUBLIC KEY-----
        """),
    Sample(
      name: "cut short", verdict: "pem_invalid",
      pem: """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQD11xLDFXS5Ymvs
        RKQJBbizfb8lPXEj0Hucf+8g1lpBmKXoXpQGFTSxgvLKCPpWMXlSKO57lpGT0jGM
        MYfaH2s+NMWbZswfnfPaH6LzXScJBu/LkGXtPvQ9xME5Rl5kkdAW9HyKLwIc2t7/
        uyjgx96yVdz3U0/dPbTUkSPVgZms/Z1P6VcRgV90+r0dAKVUiRm2ReDrUDCvdJZ0
        5c7veoDjArlDNI8D70BlFuQvkSCJtABLBikn8v8IPrHtrnKsv91l5/MzckqBFyIY
        1yqmyPxnNGne2oJUS/KkYVRh600r6kCcpe5NmwxipnfOKfAjItZDoSaaoktHRiXr
        RcqLYh/3AgMBAAECggEAEmgvHHI/0h2fbQpaqd5GzRGuPTCThxX2G2qs0e2axmyS
        h4qFVMtDrcLbQOtZKxj7N36fFJvafJHxacjPnjJaCkdTQGZ7BCcEeiGCRuyDnrZp
        P/mo2BGtoe5YdVxidu9AAGf/5yzL4LM2nTk7P1FXyEyLhe0z/qG/J2dSoorYoc4Z
        5kmsbWXubMz3HdZIRaTJr79WsqJMtl6ib2qn0idP1dUCtxlRXkSS9mW1693uiZG0
        I5b8nCo00oaeQeBl/4PGZgfQ+ju7Gev8vvacAzxDvbXJjHHkhriifbSpz5IlHrFu
        Ai5jXViHPxFfpY00N+LFRq4whv2VKYf7RFK1PuGssQKBgQD930HGFQV+RyV8rh83
        pNqWlhnTBb/6BuzFfOcTLP/gqwwBL+Y3zDONiuDt8ryQHs1XdQrQ4x8Z4CqUQlkl
        xqtDbDUItLeWYvuZHbPSrKRMez6MI9aCkDGO/cIkK8Eym78mOpYivHkXZVLk43G3
        H28OuJOYGDCXfBW5owTR6XxYOQKBgQD35pT01iwRc1sSsKWH++ZD3gTMh1gCCSHH
        /iV7zwuOQ7XKYaoIJiegisW6DhflHbp8hyVU3rAOBRn4ZNEbch4Z2ug703gd4pOY
        r9ZyH2DknXf3LXRSygrHfLiRf0Ho2m4oVTUEL4cIQvEJ+TsT+ARFF/41LzoHUAHl
        xWls/mZZrwKBgGaIlgMPmHFhAMXzeU46+cHaC8ILz3aG93fns1guU4YE70tHcj7U
        7XlcPu47nGbE2gBZmC23nWcQ/4FzrpewPplziZPjkUZe4ej8cxVCfvUYzbFCBDAl
        Vq6+1HtRZK0w9CnXfa2321xUov8o0VO5kVwrtgi2tGFqT0fzjE3PdFYZAoGAGwm/
        PWUOsWiPil5R75794nEYvOYWJ0KvuIxzsilG7WFdNpGoZfMjZ1M7dauL16WCbYqf
        +72+HglYZ8s3M3Mi7Vb+9Wd/NmM8De8/yHq7qrOyHfeLNGxs+I0V5Gio26jXUvbY
        LXixlakXeSsB0o++h3qyc0KPZbTIQDNj6EtnBmkCgYBhacfxwOAWscT6eFX4fxCD
        XvuwK3pSERbIl45BxmGgDqSXvCOsvSgCoa+VL5gROvLNafSxRgv2cpZ4EhKUOZHT
        -----END PRIVATE KEY-----
        """),
    Sample(
      name: "encrypted PKCS#8", verdict: "pem_invalid",
      pem: """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg1itSO0sHh5gICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEFzADjncjh+pbhDqmRMNI+0EgZDp
        i/qufJG3Q1qjn2hX/3cVEbWEoQIVPR56rH9X+RlIDCKjCVfJUi7vu3bAqfd5wsxX
        ckaAIRtowQgJ7rnW2AwXlCR97XGC3XlgzAnP45D4rYKtftSuOLa5UTZ4bUlN0CTd
        28Mmu5+6X0DGpyCmLFUdzc0PqJ9hiX+zhZ6sJ1QJCGkHJbNhHP2p+H6V/tjq97g=
        -----END ENCRYPTED PRIVATE KEY-----
        """),
    Sample(
      name: "encrypted SEC 1", verdict: "pem_invalid",
      pem: """
        -----BEGIN EC PRIVATE KEY-----
        Proc-Type: 4,ENCRYPTED
        DEK-Info: AES-128-CBC,B8DB2885C20182A0DAA5011C6D8A59E0

        ChauraipDVNGJW/gEsmdJRJDF97SXoWoqbmncLXUy5EovXIW9JFPVnJJ6W2s1mf/
        bOsU7iPAME5b29JDWC8JSSyDLfGSc+7hwfKaPYVVky4Sv7N6ObngxwMKNl1/s1XY
        rxczl4/RGw4OGke2Y8/q/BIYm+HG74dPoL1rAbj8Wu8=
        -----END EC PRIVATE KEY-----
        """),
    Sample(
      name: "RSA of 1,024 bits", verdict: "size_not_allowed",
      pem: """
        -----BEGIN PRIVATE KEY-----
        MIICdgIBADANBgkqhkiG9w0BAQEFAASCAmAwggJcAgEAAoGBAKENwQOU2pkz/jCf
        PfQZUsDXCyLrMPMJJF64kbzFA3Dvzp4Y2HQ8wIzrUV/y6lXx0sT0opDfM4BHD3Gd
        fsEGqL+Q05pJzZH75fAePUTbnsWCmATjcii0FYy/D9Rtf4FGnbfXPim29AyXFwC3
        ZFiMIyquq/DWayUlH9ikip95RmMFAgMBAAECgYEAkxVIjMjIytmc7zK/Fcp6tPqv
        hPhd/9b9jDPrhQY4GlAn1mLCa4WAJDJUYtgqAsuSvaTdQolVM3WyOQSo2ggG21lY
        0n9Cgm2mHp+faWQLKNRw182wdc45EvXe/ds25aoCLZc+I/hFZhgs4ajEGlTLllaM
        G7YVTe/f6l3D/XlJrhECQQDUgiAFIFf26ZUPZ7Neicri1SIAILAoWlXpvrEkIzcw
        lSFmvqHnHnSaeR/uQlbu6a8a176y/CwzNje9W23Jp9uTAkEAwgPJcqB0yaq+xzDS
        m3cGtGMtoDLzaQWvHPXlvI0hp2iEz60LIRQZcV88ElEphnqIyyGjVqLP7hKCVuUq
        0eRWBwJAPuIWmY29men62ukj0cjSiZbqDcGefwJkQ9vSzU/CaBTpIl8sx5hihsdq
        5HUrBl2OHFJVMt+eMLVNfzIL5c1PEwJAVyOSR/yPV8BrnVVtUkwcY8qjxG796m6W
        HwDGZXBR7DnCZPBIrluzrbrjZSq05uSEKg/6p7/KehgwGE0ndUwD4wJANx4MrrLG
        5QrjFHRJnwk9VMCmMSHsCc5SWsEzEDZCy/WskCpbJaSDIac8f89TTls7FTJ7uPn2
        X89eub41u0Q+ww==
        -----END PRIVATE KEY-----
        """),
    Sample(
      name: "P-384", verdict: "curve_not_supported",
      pem: """
        -----BEGIN EC PRIVATE KEY-----
        MIGkAgEBBDCaRjKNiJykog4m6hNFEMCBnlOUh0q+dTNcflyIjxlV8MtmNSiUsJX1
        DR3hwFIzlHegBwYFK4EEACKhZANiAARHQbzOKqG0acYGIo1VpmbB0GTr8C9+HheD
        unBHuuz3gWhqDEF/qGTVjz9BJb2RE93cLEdPX/+sOtZhCeOqPppsdTgRy2+EYdaJ
        6rdsDcXVE3HGOl+sEeAMYPnQCMsJZ8s=
        -----END EC PRIVATE KEY-----
        """),
    Sample(
      name: "Ed25519", verdict: "type_not_supported",
      pem: """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIG91anQIv5pJgxEQuWrqO78PK1DJIReOu+twN7UCFARE
        -----END PRIVATE KEY-----
        """),
    Sample(
      name: "RSA for PSS only", verdict: "type_not_supported",
      pem: """
        -----BEGIN PRIVATE KEY-----
        MIIEugIBADALBgkqhkiG9w0BAQoEggSmMIIEogIBAAKCAQEA3nvSIjumIeLRBghd
        SpZeQpiZB9AukSRzK/5anV0HvT7jh32DqxLS+bNpDnhFrwOga83dfn9iExRW56lH
        VRy6FtXASPJn1Col6O6F5nUw95GQoA30vclrgsKj5oneag1aDrRScOhUS1cn1Rs5
        zvA9MjpIj/ejLRa/BuF/kfsZVQUSYJVRAeOtHeqV5PMSxE4169OUWsH5SAiP9d87
        voeeF83VCN3+1DyxU0dHDYE8WyeXjBpsQfIsJxtYtEnB3xKlJ4A4TjngSUSk2gCG
        M7wQleQwUQrjMLvN1AnuaSjyWMPPVqzHUIp46CxsdK5RtS7IH1csU0XFVxuX8saH
        B8hKRwIDAQABAoIBACL3yiC4SFXGHP06PlN1S85ixpacSV1lobZ17U8Tap57bm6C
        szmlpUQ6xxXPoIAv7TxUaG4z3jnKdhhGGmCNuc/R+71bYCdQEpJIPwJoQ/B9UAJf
        /yn/KOct6W3YGH2JqLBr9hMp6OnIgomzlEPqrWuiDnqWPO7extpxgcfzc9lRPjNy
        0AqJZkosLg8IRHEE/+B/ZkbFzf4BQFa+6WY9DyRnr8Yzs7ZyAffcrzSKi4SisADR
        dZGxUxfNqQYQZNrXRh/jZ4UiAl5Q0oDmb7TZmk0I/Om/Xo8mdeN57YupSz2osxzz
        uO9DQiVTR3WYWIqdeuaI0Zd9D/qSoFyygcneMMUCgYEA9bCTTr+g8W3yy6L9Lh5f
        4vbrZjmSxErEJaJBWj7WUnmkI1ZIY88l/c98hZsomUmO8cVMj73FCfa5YhUPX1Ah
        FaG9xKULozdlj+LIbz4wmkOZrpGo1LPArP1c3U0i3NEq5bsmYP8xyHVMQe518vtX
        0Ql32Dh/jgBimVSdmUox0VUCgYEA59Hxyto6EE+DeLWLYrVtqWu/dsI7GuXy7PrS
        lBCmUDES/H73CDVl0su2mRq4XrF1if2YCEEM8Q0VuwfsjzBWOq6kbnQE26ZW50rg
        V8s/2ulETqfzsEHHvk9OMHjRKWakvGIn0uOgmqmw8CKJ/AKYyDyjSua6WX7+nCQ7
        x7flnSsCgYEAoT0qz6mPdCKWDvJ+eb/RaeBmiIYMPepbY99iSFmoyiOuhspfY7FU
        24dJz10Ofdr6hszW/Bass2dKLoZnukOaEto88krmokz+yDkrFWaY+wSWXSyWwlDd
        iCoWwd2XnZdgMbhq7YlNIKNqUnKu0bIF5dfy4OHjREwYaUxQyYMZwqkCgYEAhp7K
        lQxJb7NdG7oBaZ8GQb6Kf0Kn5CTo/2lg5A8PJb550htBBYlMyi72qM51hrfzE+Eq
        apCsHUeF+QjO/RAK4yUL5ACH2a4tBT/cK9+iA1Q3EJ5Dy3VHs2KGe2uNu0caHzO5
        AKSjXW1xjOHh03EGnDFqelKmoNY4sR/xfzdxpeUCfwZq0ZmFVKo9uMY6JlGunT7M
        aSbmGQSNQYnJpw1N5hINF0XLWhIXRkFVGVjBUzckSDG3MOg6kAeA8YbxOsRk47yY
        +SIYRO1ZiaeEwPRoOxFqXD33/omczvKKLnWe/p6JW3PFXcDXAudGsod/mVezc1xQ
        DaaDsp27JteYBbEQUEM=
        -----END PRIVATE KEY-----
        """),
  ]
}
