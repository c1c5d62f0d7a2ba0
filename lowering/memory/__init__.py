"""Where buffers lie in memory: how long each is in use, and what can share a place."""
