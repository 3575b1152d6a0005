"""Messages and gRPC stubs of the protobuf package ``chaodipi.v1``."""
