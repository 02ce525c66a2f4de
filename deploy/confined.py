#!/usr/bin/env python3
"""confined.py UNIT COMMAND...: runs a command under the system call rules of a unit, as systemd would, on a host without it.

It takes SystemCallFilter=, SystemCallErrorNumber= and MemoryDenyWriteExecute= from the unit and its drop-ins, resolves the groups by
`systemd-analyze syscall-filter`, and sets them by libseccomp, which systemd itself uses. What is bounded by namespaces (files,
devices, processes) is not: whoever runs this need not be root.
"""

import ctypes
import errno
import os
import re
import subprocess
import sys
from pathlib import Path

ALLOW, ERRNO = 0x7FFF0000, 0x00050000
MASKED_EQUAL = 7
PROT_WRITE, PROT_EXEC, SHM_EXEC = 2, 4, 0o100000


class Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp` of libseccomp."""

    _fields_ = [("argument", ctypes.c_uint), ("operator", ctypes.c_int), ("mask", ctypes.c_uint64), ("value", ctypes.c_uint64)]


def settings(unit):
    """The settings of a unit and of its drop-ins, in order, as pairs."""
    files = [unit, *sorted(Path(f"{unit}.d").glob("*.conf"))]
    return [tuple(line.split("=", 1)) for file in files for line in file.read_text().splitlines()
            if re.match(r"[A-Za-z]+=", line)]


def groups():
    """The calls and groups in each group of system calls."""
    found, name = {}, None
    for line in subprocess.run(
            ["systemd-analyze", "syscall-filter"], check=True, capture_output=True, text=True).stdout.splitlines():
        if line.startswith("@"):
            name = line.split()[0]
            found[name] = []
        elif name and re.match(r" +[@a-z0-9_-]+$", line):
            found[name].append(line.strip())
    return found


def resolved(word, known):
    if not word.startswith("@"):
        return {word}
    return set().union(*(resolved(part, known) for part in known[word]))


def allowed(pairs):
    """The calls that a unit's SystemCallFilter= lines leave; the first of them has to be a list of what is allowed."""
    known = groups()
    calls = set()
    for name, value in pairs:
        if name != "SystemCallFilter":
            continue
        named = set().union(*(resolved(word, known) for word in value.lstrip("~").split()))
        if value.startswith("~"):
            calls -= named
        else:
            # systemd adds what no process can do without.
            calls |= named | resolved("@default", known)
    if not calls:
        raise SystemExit("confined: the unit allows no system call, or names none")
    return calls


def confine(pairs):
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_rule_add_array.argtypes = [
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Comparison)]
    values = dict(pairs)
    number = getattr(errno, values.get("SystemCallErrorNumber", "EPERM"))

    def load(default, rules):
        context = library.seccomp_init(default)
        for call, action, comparisons in rules:
            resolved_number = library.seccomp_syscall_resolve_name(call.encode())
            if resolved_number < 0:  # not a call of this architecture
                continue
            array = (Comparison * max(1, len(comparisons)))(*comparisons)
            status = library.seccomp_rule_add_array(context, action, resolved_number, len(comparisons), array)
            if status:
                raise SystemExit(f"confined: no rule for {call}: {os.strerror(-status)}")
        status = library.seccomp_load(ctypes.c_void_p(context))
        if status:
            raise SystemExit(f"confined: the filter was not taken: {os.strerror(-status)}")

    calls = allowed(pairs)
    if values.get("MemoryDenyWriteExecute") == "yes":
        def masked(argument, bits):
            return Comparison(argument, MASKED_EQUAL, bits, bits)

        refusal = ERRNO | errno.EPERM
        load(ALLOW, [
            ("mmap", refusal, [masked(2, PROT_WRITE | PROT_EXEC)]), ("mprotect", refusal, [masked(2, PROT_EXEC)]),
            ("pkey_mprotect", refusal, [masked(2, PROT_EXEC)]), ("shmat", refusal, [masked(2, SHM_EXEC)])])
    # Last, since after it no other may be set.
    load(ERRNO | number, [(call, ALLOW, []) for call in sorted(calls)])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__.splitlines()[0])
    confine(settings(Path(sys.argv[1])))
    os.execvp(sys.argv[2], sys.argv[2:])
