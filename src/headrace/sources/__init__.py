"""What lies in folders of loose files and in lists of them: walked, recognised, read in pieces. Without contents."""
