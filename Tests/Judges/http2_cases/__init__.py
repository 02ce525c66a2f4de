"""What an HTTP/2 server must do with each frame that a client may, and may not, send."""
