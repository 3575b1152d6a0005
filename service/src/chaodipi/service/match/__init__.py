"""The match machine: one table at a time, told the cards and the time; no sockets, tasks or clock."""
