//! Lines 138 to 150: stdio.
