//! Consent of a person to a call that the policy does not decide.
