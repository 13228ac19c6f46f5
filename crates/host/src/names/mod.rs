//! Server ids, and names of tools and prompts that are unique over all servers.
