"""The host: match machine, scheduler, store, gRPC adapters and the command line."""
