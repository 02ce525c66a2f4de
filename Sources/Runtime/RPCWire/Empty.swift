// The target is filled by its first slice.
