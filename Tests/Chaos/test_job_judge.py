"""The judge of jobs: each kind of harm, done on purpose, is found; and nothing is found where there is none."""

import unittest

from job_judge import judge


class JobJudgeTests(unittest.TestCase):
    def setUp(self):
        # Job 0 was run once, job 1 a second time after its first provider call.
        self.effects = [(0, "booked", "a", 1, 1), (0, "ended", "a", 1, 1), (1, "booked", "b", 2, 2), (1, "ended", "b", 2, 2)]
        self.charges = [("a/charge", 0, 1), ("a/mail", 0, 1), ("b/charge", 1, 1), ("b/charge", 1, 2), ("b/mail", 1, 2)]
        self.ordered = [0, 1]

    def judge(self, left=()):
        return judge(2, self.ordered, self.effects, self.charges, left)

    def test_all_is_well(self):
        verdict = self.judge()
        self.assertTrue(verdict.is_clean(), verdict)
        self.assertEqual((verdict.charges, verdict.repeats), (5, 1))

    def test_late_call_of_an_earlier_run_is_recognized(self):
        self.charges.append(("b/charge", 1, 1))
        self.assertTrue(self.judge().is_clean())

    def test_lost(self):
        del self.effects[3]
        self.assertEqual(self.judge().lost, [1])

    def test_lost_order(self):
        self.ordered = [1]
        self.assertEqual(self.judge().lost, [0])

    def test_lost_outside(self):
        del self.charges[4]
        self.assertEqual(self.judge().lost, [1])

    def test_doubled_in_the_database(self):
        self.effects.append((0, "ended", "a", 2, 1))
        self.assertEqual(self.judge().doubled, [0])

    def test_paid_again_after_the_step_was_finished(self):
        self.charges.append(("a/charge", 0, 2))
        self.assertEqual(self.judge().doubled, [0])

    def test_two_jobs_of_one_order(self):
        self.charges.append(("c/charge", 0, 1))
        self.assertEqual(self.judge().doubled, [0])

    def test_unasked(self):
        self.charges.append(("c/charge", 9, 1))
        self.assertEqual(self.judge().unasked, [9])

    def test_left(self):
        self.assertFalse(self.judge(["1 in job"]).is_clean())


if __name__ == "__main__":
    unittest.main()
