"""Service clients from protobuf's descriptors, without generated stubs."""

from __future__ import annotations

from typing import Any


class Stub:
    """A client of a service: each method of the service is an attribute."""


def stub(channel: Any, service: Any) -> Stub:
    """Makes a client of `service`, a descriptor such as movies_pb2.DESCRIPTOR.services_by_name["MovieService"], on a channel of this
    module or of coracle.aio. Needs the package protobuf, as the messages do."""
    from google.protobuf import message_factory

    made = Stub()
    for method in service.methods:
        request = message_factory.GetMessageClass(method.input_type)
        reply = message_factory.GetMessageClass(method.output_type)
        kind = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
        make = getattr(channel, kind)
        setattr(made, method.name, make(f"/{service.full_name}/{method.name}", request.SerializeToString, reply.FromString))
    return made
