//! Lines 310 to 315: roots.
