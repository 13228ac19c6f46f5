//! Lines 53 to 67: the handshake.
