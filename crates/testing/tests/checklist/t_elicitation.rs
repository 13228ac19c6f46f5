//! Lines 316 to 347: elicitation.
