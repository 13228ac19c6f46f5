//! Lines 296 to 309: sampling.
