//! Servers that check who asks.
