//! couplet
