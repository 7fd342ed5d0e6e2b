"""Text that a person does not see, and text that only annotations hold."""
