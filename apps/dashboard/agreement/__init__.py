"""What the agreement page asks for and shows, without a request and without a database. Pure."""
