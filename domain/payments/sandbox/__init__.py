"""The payment gateway that is built in: real codes, no money."""
