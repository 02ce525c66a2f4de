"""A rush on a service that has just started."""

from concurrent.futures import ThreadPoolExecutor

from stack import Case, Stack, await_true


class LoadTests(Case):
    def test_a_thousand_at_once(self):
        """B-09, B-17, B-28: 1,000 exchanges at once by 100 users at 20 addresses: none refused, one mint, one key fetch."""
        stack = Stack()
        self.addCleanup(stack.stop)
        auth, messages = stack.copies[0], stack.ground.messages
        tokens = stack.id_tokens([{"sub": f"user-{number}"} for number in range(100)])
        addresses = [stack.address() for _ in range(20)]
        brokers = [auth.broker(own=True) for _ in range(20)]

        def rush(number):
            # User u calls ten times and always from address u % 20: 50 calls for each address, 10 for each user.
            return [
                brokers[number].ExchangeToken.future(
                    messages.ExchangeTokenRequest(), metadata=stack.metadata(tokens[user], addresses[number]), timeout=60)
                for user in range(number, 100, 20) for _ in range(10)
            ]

        with ThreadPoolExecutor(20) as threads:
            calls = [call for some in threads.map(rush, range(20)) for call in some]
        errors = [error for error in (call.exception() for call in calls) if error]
        self.assertEqual(len(calls), 1000)
        self.assertEqual([], [f"{error.code()}: {error.details()}" for error in errors[:5]])
        self.assertEqual(len({call.result().access_token for call in calls}), 1)
        self.assertEqual(stack.served("/google/token"), 1)
        self.assertEqual(stack.served("/google/certs"), 1)
        recorded = "select count(*), count(distinct subject_hash), count(distinct client_address) from auth.token_issuance"
        self.assertEqual(stack.ground.sql(recorded, stack.database), "1000|100|20")
        await_true("the log has them all", lambda: len(auth.calls("ExchangeToken", "OK")) == 1000)
