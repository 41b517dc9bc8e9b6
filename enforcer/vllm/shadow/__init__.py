"""Shadow mode: vLLM's own parser answers, and its replies are judged behind it.

Nothing is enforced: no spec is written, no logits are masked, no request or reply is changed. The
middleware keeps the bytes of both; the queue has them judged in the worker processes of checks.
"""
