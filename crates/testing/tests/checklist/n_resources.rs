//! Lines 252 to 263: resources.
