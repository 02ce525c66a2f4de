// Replaced by the adapter itself.
