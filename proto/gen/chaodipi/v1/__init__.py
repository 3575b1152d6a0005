"""Messages and gRPC stubs of the protobuf package ``chaodipi.v1``; written by ``make protos``."""
