//! Lines 1 to 31: messages.
