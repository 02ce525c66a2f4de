"""What the clients know: which writes they sent, which were acknowledged, and whether the database agrees.

The ledger is the judge of a run, so it is pure: it is told what was sent and what was answered, is shown rows, and says what does
not fit. `test_ledger.py` shows it every kind of harm there is.
"""

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Entry:
    """What a client asks the ledger service to post; equal contents under one key are one entry."""

    key: str
    debit: str
    credit: str
    amount: int
    memo: str


@dataclass
class Verdict:
    """What does not fit; each list names keys."""

    acknowledged: int = 0
    lost: list = field(default_factory=list)  # acknowledged, and not there or not what was sent
    doubled: list = field(default_factory=list)  # there more than once, or acknowledged under two names
    unasked: list = field(default_factory=list)  # there, and never sent
    half: list = field(default_factory=list)  # accounts whose balance is not the sum of their entries

    def is_clean(self):
        return not (self.lost or self.doubled or self.unasked or self.half)

    def __str__(self):
        return (f"{self.acknowledged} acknowledged writes, {len(self.lost)} lost, {len(self.doubled)} doubled, "
                f"{len(self.unasked)} unasked, {len(self.half)} half applied")


class Ledger:
    """All writes of a run. Every caller's thread writes to it."""

    def __init__(self):
        self._lock = threading.Lock()
        self._sent = {}  # key -> Entry
        self._names = defaultdict(set)  # key -> the names under which it was acknowledged
        self._exchanges = set()  # request ids sent
        self._issued = Counter()  # request id -> acknowledgements

    # Entries carry an idempotency key: sent any number of times, applied once.

    def sends(self, entry):
        with self._lock:
            self._sent[entry.key] = entry

    def acknowledged(self, key, name):
        """The service answered that it holds `key` under `name`."""
        with self._lock:
            self._names[key].add(name)

    # Exchanges carry no key: each is sent once, and leaves exactly one audit row when it is answered.

    def asks(self, request):
        with self._lock:
            self._exchanges.add(request)

    def issued(self, request):
        with self._lock:
            self._issued[request] += 1

    @property
    def writes(self):
        """How many writes are acknowledged."""
        with self._lock:
            return len(self._names) + len(self._issued)

    def judge_entries(self, rows, balances):
        """Compares with `rows` of (name, key, debit, credit, amount, memo) and `balances` by account."""
        with self._lock:
            sent, names = dict(self._sent), {key: set(known) for key, known in self._names.items()}
        found = defaultdict(list)
        sums = Counter()
        for name, *entry in rows:
            entry = Entry(*entry)
            found[entry.key].append((name, entry))
            sums[entry.debit] -= entry.amount
            sums[entry.credit] += entry.amount
        verdict = Verdict(acknowledged=len(names))
        for key, known in names.items():
            if len(known) > 1 or len(found[key]) > 1:
                verdict.doubled.append(key)
            elif [(*known, sent[key])] != found[key]:
                verdict.lost.append(key)
        for key, held in found.items():
            if held and key not in sent:
                verdict.unasked.append(key)
            elif len(held) > 1 and key not in names:
                verdict.doubled.append(key)
            elif key not in names and held and held[0][1] != sent[key]:
                verdict.unasked.append(key)
        verdict.half = sorted(account for account in {*balances, *sums} if balances.get(account, 0) != sums[account])
        return verdict

    def judge_exchanges(self, rows):
        """Compares with the request ids of the audit's rows, one for each row."""
        with self._lock:
            asked, issued = set(self._exchanges), set(self._issued)
        found = Counter(rows)
        return Verdict(
            acknowledged=len(issued), lost=sorted(issued - set(found)), unasked=sorted(set(found) - asked),
            doubled=sorted(request for request, count in found.items() if count > 1))
