"""The host: the only owner of tasks and timers. It drives the machines and knows the bots."""
