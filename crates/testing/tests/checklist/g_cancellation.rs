//! Lines 117 to 129: cancellation.
