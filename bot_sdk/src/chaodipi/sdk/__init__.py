"""The SDK for bots: what an author imports. It stands on the engine and the protocol only."""
