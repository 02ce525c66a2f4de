"""What the tests of buckets stand on: the sandbox's bucket, which judges every signature, and moto's, which has botocore judge them.

Neither needs a database. `Bucket.ask` runs `parley-sandbox bucket`, that is, the services' own code.
"""

import json
import logging
import os
import shutil
import subprocess
import uuid

import boto3
import botocore.config
from moto.server import ThreadedMotoServer

import ground
from ground import ROOT, Program, await_true, run
from stack import BINARIES

POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


class Bucket:
    """One bucket, as the services know it and as boto3 does."""

    def __init__(self, endpoint, name, region, access_key, secret_key, ca=None):
        self.endpoint, self.name, self.region, self.ca = endpoint, name, region, ca
        self.environment = {
            "PATH": os.environ["PATH"], "AWS_ACCESS_KEY_ID": access_key, "AWS_SECRET_ACCESS_KEY": secret_key}

    def command(self, action, *arguments):
        place = ["--endpoint", self.endpoint, "--bucket", self.name, "--region", self.region]
        return [BINARIES / "parley-sandbox", "bucket", action, *place, *(["--ca", self.ca] if self.ca else []), *arguments]

    def ask(self, action, *arguments, expecting=0, **environment):
        """What an action prints, in bytes; it has to end as expected."""
        done = subprocess.run(
            [str(word) for word in self.command(action, *arguments)], capture_output=True, timeout=120, check=False,
            stdin=subprocess.DEVNULL, env={**self.environment, **environment})
        if done.returncode != expecting:
            raise AssertionError(f"bucket {action} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stderr if expecting == 2 else done.stdout


class Ground(ground.Ground):
    """The sandbox and moto."""

    name = "buckets"

    def __init__(self):
        super().__init__()
        self.tls = self.folder / "tls"
        run([ROOT / "deploy/local/certificates.sh", self.tls])
        self.ca = self.tls / "ca.pem"
        self.sandbox = self.moto = None
        try:
            self._start_sandbox()
            self._start_moto()
        except BaseException:
            self.stop()
            raise

    def _start_sandbox(self):
        port_file = self.folder / "sandbox.port"
        self.sandbox = Program("sandbox", self.folder / "sandbox.log", [
            BINARIES / "parley-sandbox", "serve", "--port", "0", "--plain-port", "0", "--port-file", port_file, "--certificate",
            self.tls / "server.pem", "--key", self.tls / "server-key.pem"])
        await_true("the sandbox listens", lambda: port_file.exists() or not self.sandbox.runs, 40)
        ports = dict(line.split("=") for line in port_file.read_text().split())
        self.sandbox_url = f"https://localhost:{ports['tls']}"
        self.control_url = f"http://127.0.0.1:{ports['plain']}"
        access = self.control("/sandbox/s3/access")
        self.own = Bucket(
            self.sandbox_url, access["bucket"], access["region"], access["accessKeyId"], access["secretAccessKey"], self.ca)

    def _start_moto(self):
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.moto = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
        self.moto.start()
        host, port = self.moto.get_host_and_port()
        self.moto_url = f"http://{host}:{port}"
        # Until it is told to judge, it takes any key.
        def client(service):
            return boto3.client(
                service, endpoint_url=self.moto_url, region_name="us-east-1", aws_access_key_id="any", aws_secret_access_key="any",
                config=botocore.config.Config(s3={"addressing_style": "path"}, retries={"max_attempts": 1}))

        name = f"parley-{uuid.uuid4().hex[:12]}"
        self.boto = client("s3")
        self.boto.create_bucket(Bucket=name)
        iam = client("iam")
        iam.create_user(UserName="parley")
        iam.put_user_policy(UserName="parley", PolicyName="blobs", PolicyDocument=json.dumps(POLICY))
        key = iam.create_access_key(UserName="parley")["AccessKey"]
        self.other = Bucket(self.moto_url, name, "us-east-1", key["AccessKeyId"], key["SecretAccessKey"])
        self.judging(True)

    def judging(self, judges):
        """Whether moto looks at signatures. It cannot read those of links, and fails."""
        # A form would not be read.
        run(["curl", "-sS", "--fail", "--max-time", "20", "-H", "Content-Type: text/plain", "--data-binary", "0" if judges else "inf",
             f"{self.moto_url}/moto-api/reset-auth"])

    def control(self, path, body=None, method=None):
        """Asks the sandbox's control routes, which speak HTTP/2 only."""
        command = ["curl", "-sS", "--max-time", "20", "--http2-prior-knowledge", "-X", method or ("POST" if body else "GET")]
        if body is not None:
            command += ["--data-binary", json.dumps(body)]
        return json.loads(run(command + [self.control_url + path]))

    def stop(self):
        if self.moto:
            self.moto.stop()
        if self.sandbox:
            self.sandbox.stop()


class Case(ground.Case):
    """A test of buckets."""

    ground_type = Ground

    def setUp(self):
        self.ground = Ground.get()
        self.folder = self.ground.folder / uuid.uuid4().hex
        self.folder.mkdir()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
