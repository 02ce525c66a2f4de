"""What must be left of a course of jobs. Pure: it is shown rows and says what does not fit; `test_job_judge.py` shows it each harm."""

from collections import defaultdict
from dataclasses import dataclass, field

# What is in the database, and the provider's effect whose result it keeps.
STEPS = {"booked": "charge", "ended": "mail"}


@dataclass
class Verdict:
    """What does not fit; `lost`, `doubled` and `unasked` name the numbers of jobs."""

    lost: list = field(default_factory=list)  # ordered, and an effect is not there
    doubled: list = field(default_factory=list)  # an effect is there twice, or was asked for again after its step was finished
    unasked: list = field(default_factory=list)  # an effect of what was rolled back, or that nobody ordered
    left: list = field(default_factory=list)  # rows that should be gone, in words
    jobs: int = 0
    charges: int = 0
    repeats: int = 0  # calls beyond the first of a key, which a provider recognizes

    def is_clean(self):
        return not (self.lost or self.doubled or self.unasked or self.left)

    def words(self):
        found = [f"{name}: {len(numbers)}, as {numbers[:5]}" for name, numbers in
                 (("lost", self.lost), ("doubled", self.doubled), ("unasked", self.unasked)) if numbers]
        return found + [f"left: {what}" for what in self.left]

    def __str__(self):
        return "; ".join(self.words()) or "clean"


def judge(jobs, ordered, effects, charges, left):
    """Jobs are numbered from 0.

    ordered -- numbers whose order was committed
    effects -- (number, step, job, lease, lease of the run that paid what the step before was) from the queue's database
    charges -- (key, number, lease) as they arrived outside, where nothing is fenced
    left    -- what is in the queue, in words
    """
    verdict = Verdict(left=list(left), jobs=jobs, charges=len(charges), repeats=len(charges) - len({key for key, _, _ in charges}))
    wanted = set(range(jobs))
    rows, names, calls = defaultdict(list), defaultdict(set), defaultdict(list)
    for number, step, job, lease, kept in effects:
        rows[number, step].append((job, lease, kept))
        names[number].add(job)
    for key, number, lease in charges:
        calls[key].append(lease)
        names[number].add(key.split("/")[0])
    lost, doubled = wanted - set(ordered), set()
    for number in wanted:
        # Another job of the same number would have had keys of its own.
        if len(names[number]) > 1:
            doubled.add(number)
        for step, provider in STEPS.items():
            found = rows[number, step]
            if not found:
                lost.add(number)
            if len(found) > 1:
                doubled.add(number)
            for job, _, kept in found:
                paid = calls[f"{job}/{provider}"]
                if kept not in paid:
                    lost.add(number)
                # A run that came later knew the result, and had nothing to ask for.
                if any(lease > kept for lease in paid):
                    doubled.add(number)
    verdict.lost, verdict.doubled = sorted(lost), sorted(doubled)
    verdict.unasked = sorted((set(names) | set(ordered)) - wanted)
    return verdict
