//! Lines 104 to 116: subscriptions.
