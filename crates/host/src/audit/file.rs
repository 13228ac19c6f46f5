//! Files and their rotation.
