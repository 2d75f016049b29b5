//! punchlist
