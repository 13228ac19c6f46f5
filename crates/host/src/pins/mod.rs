//! Pinned definitions: digests, the lock file, and what changed.
