"""The generated protocol; see proto/ for what it means."""
