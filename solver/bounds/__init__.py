"""What is known of sizes as bounds: ranges of monomials and forms, why they hold, and lemmas that rest on them."""
