"""What Columns and SQL texts say, and Columns made of them."""
