"""Summarisers that ask a model over the network: any endpoint that speaks OpenAI's or Anthropic's words."""

from agents_ledger.summarisers.endpoint import Endpoint

__all__ = ["Endpoint"]
