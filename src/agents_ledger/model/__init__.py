"""What a conversation is: plain values, and the rules between them."""
