//! Lines 130 to 137: progress and ping.
