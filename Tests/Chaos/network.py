"""The services live on a network of their own and reach the rest over two links, each of which can be broken by itself.

    clients 10.77.1.1 ──── link "clients" ──── 10.77.1.2 services 10.77.2.2 ──── link "base" ──── 10.77.2.1 PostgreSQL

Packets are dropped without a word (nftables), throttled (tbf), or the link is taken down. Debian's kernels have netem, others do
not, so nothing here needs it.
"""

import os
import subprocess
from pathlib import Path

from stack import await_true, run

LINKS = {"clients": ("10.77.1.1", "10.77.1.2"), "base": ("10.77.2.1", "10.77.2.2")}
CLIENTS, BASE = LINKS


class Network:
    def __init__(self):
        # A namespace lives as long as a process in it.
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], start_new_session=True)
        self._space = Path(f"/proc/{self._holder.pid}/ns/net")
        await_true("the services' network is there", lambda: os.readlink(self._space) != os.readlink("/proc/self/ns/net"))
        run(["ip", "link", "set", "lo", "up"])
        run([*self.inside(), "ip", "link", "set", "lo", "up"])
        for link, (outer, inner) in LINKS.items():
            run(["ip", "link", "add", link, "type", "veth", "peer", "name", link, "netns", str(self._holder.pid)])
            run(["ip", "address", "add", f"{outer}/24", "dev", link])
            run([*self.inside(), "ip", "address", "add", f"{inner}/24", "dev", link])
            run(["ip", "link", "set", link, "up"])
            run([*self.inside(), "ip", "link", "set", link, "up"])
        run(["nft", "-f", "-"], input="""
            table inet chaos {
              set broken { type ifname; }
              chain arriving { type filter hook input priority 0; iifname @broken drop; }
              chain leaving { type filter hook output priority 0; oifname @broken drop; }
            }""")

    def inside(self):
        """What a command begins with to run on the services' side."""
        return ["nsenter", f"--net={self._space}", "--"]

    def cut(self, link):
        """Drops every packet of the link: neither side is told, so connections stay half open."""
        run(["nft", "add", "element", "inet", "chaos", "broken", f"{{ {link} }}"])

    def mend(self, link):
        run(["nft", "delete", "element", "inet", "chaos", "broken", f"{{ {link} }}"])

    def throttle(self, link, kilobits):
        """Lets so much pass in a second, either way; what waits longer than 2 s is dropped."""
        for side in ([], self.inside()):
            run([*side, "tc", "qdisc", "replace", "dev", link, "root", "tbf", "rate", f"{kilobits}kbit", "burst", "4kb",
                 "latency", "2s"])

    def release(self, link):
        for side in ([], self.inside()):
            run([*side, "tc", "qdisc", "delete", "dev", link, "root"])

    def down(self, link):
        run(["ip", "link", "set", link, "down"])

    def up(self, link):
        run(["ip", "link", "set", link, "up"])

    def close(self):
        self._holder.kill()
        self._holder.wait()
