"""The long-running side: the socket, the engine that carries out the desk's effects, and the wiring of it all."""
