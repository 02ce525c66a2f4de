"""The judge itself: each kind of harm, done on purpose, is found; and nothing is found where there is none."""

import unittest

from ledger import Entry, Ledger


class EntriesTests(unittest.TestCase):
    def setUp(self):
        self.ledger = Ledger()
        self.entries = [Entry(f"k{number}", "a0", "a1", number + 1, "text") for number in range(3)]
        for entry in self.entries:
            self.ledger.sends(entry)
        self.ledger.acknowledged("k0", "name-0")
        self.ledger.acknowledged("k1", "name-1")
        self.rows = [(f"name-{number}", *self.values(entry)) for number, entry in enumerate(self.entries)]
        self.balances = {"a0": -6, "a1": 6, "a2": 0}

    @staticmethod
    def values(entry):
        return entry.key, entry.debit, entry.credit, entry.amount, entry.memo

    def judge(self):
        return self.ledger.judge_entries(self.rows, self.balances)

    def test_all_is_well(self):
        """An entry whose answer never came may be there, and may not."""
        verdict = self.judge()
        self.assertTrue(verdict.is_clean(), verdict)
        self.assertEqual(verdict.acknowledged, 2)
        del self.rows[2]
        self.balances = {"a0": -3, "a1": 3}
        self.assertTrue(self.judge().is_clean(), self.judge())

    def test_lost(self):
        """An acknowledged entry that was deleted is lost."""
        del self.rows[1]
        self.balances = {"a0": -4, "a1": 4}
        self.assertEqual(self.judge().lost, ["k1"])

    def test_changed(self):
        """An acknowledged entry with another content, or under another name, is lost."""
        self.rows[0] = ("name-0", "k0", "a0", "a1", 1, "other text")
        self.rows[1] = ("another", *self.values(self.entries[1]))
        self.assertEqual(self.judge().lost, ["k0", "k1"])

    def test_doubled(self):
        """Two rows of a key are one too many, whether its answer came or not."""
        self.rows += [("name-9", *self.values(self.entries[0])), ("name-8", *self.values(self.entries[2]))]
        self.balances = {"a0": -10, "a1": 10}
        self.assertEqual(self.judge().doubled, ["k0", "k2"])

    def test_two_names(self):
        """A key that was acknowledged under two names was posted twice."""
        self.ledger.acknowledged("k0", "name-7")
        self.assertEqual(self.judge().doubled, ["k0"])

    def test_unasked(self):
        """A row that nobody sent."""
        self.rows.append(("name-9", "k9", "a0", "a1", 0, ""))
        self.assertEqual(self.judge().unasked, ["k9"])

    def test_half(self):
        """An entry that reached one of its two balances, or reached them twice."""
        self.balances["a1"] = 5
        self.assertEqual(self.judge().half, ["a1"])


class ExchangesTests(unittest.TestCase):
    def setUp(self):
        self.ledger = Ledger()
        for request in ("r0", "r1", "r2"):
            self.ledger.asks(request)
        self.ledger.issued("r0")
        self.ledger.issued("r1")

    def test_all_is_well(self):
        """A row whose answer never came is no harm."""
        self.assertTrue(self.ledger.judge_exchanges(["r0", "r1", "r2"]).is_clean())
        self.assertTrue(self.ledger.judge_exchanges(["r0", "r1"]).is_clean())

    def test_harm(self):
        """A missing row, one too many, and one of a request that nobody made."""
        verdict = self.ledger.judge_exchanges(["r0", "r2", "r2", "r9"])
        self.assertEqual((verdict.lost, verdict.doubled, verdict.unasked), (["r1"], ["r2"], ["r9"]))


if __name__ == "__main__":
    unittest.main()
