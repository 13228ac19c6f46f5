//! Lines 283 to 295: caching.
