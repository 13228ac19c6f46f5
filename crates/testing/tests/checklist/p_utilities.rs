//! Lines 269 to 282: completion, pagination, logging.
