"""Certificates for one run: a server's and a client's, each signed by itself, as the public judge makes them."""

import subprocess


def make(folder, name, usage):
    certificate, key = folder / f"{name}.pem", folder / f"{name}-key.pem"
    subprocess.run([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
        f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", f"extendedKeyUsage={usage}",
        "-addext", "basicConstraints=critical,CA:TRUE", "-keyout", str(key), "-out", str(certificate)],
        check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return certificate, key


class Certificates:
    """The files and their bytes."""

    def __init__(self, folder):
        self.server = make(folder, "server", "serverAuth")
        self.client = make(folder, "client", "clientAuth")
        self.stranger = make(folder, "stranger", "serverAuth,clientAuth")

    @staticmethod
    def bytes(identity):
        return {"cert": identity[0].read_bytes(), "key": identity[1].read_bytes()}
