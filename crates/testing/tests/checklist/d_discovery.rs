//! Lines 68 to 82: revisions, discovery, eras.
