//! Lines 83 to 103: multi round-trip requests.
